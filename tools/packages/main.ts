import { join } from 'node:path';
import { buildClient } from './buildClient.ts';

const root = join(import.meta.dirname, '../..');
await buildClient(root, join(root, 'dist/client'));
process.stdout.write('dist/client: npm pack ./dist/client\n');
