import { join } from 'node:path';
import { buildClient } from './buildClient.ts';
import { buildCommand } from './buildCommand.ts';
import { buildService } from './buildService.ts';

const root = join(import.meta.dirname, '../..');
const client = join(root, 'dist/client');
await buildClient(root, client);
await buildCommand(root, join(root, 'dist/cli'), client);
await buildService(root, join(root, 'dist/assay'), client);
process.stdout.write('To pack them: npm pack ./dist/client ./dist/cli ./dist/assay\n');
