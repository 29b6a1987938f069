import { join } from 'node:path';
import { buildClient } from './buildClient.ts';
import { buildCommand } from './buildCommand.ts';
import { buildService } from './buildService.ts';
import { clientDeclarations } from './clientDeclarations.ts';

const root = join(import.meta.dirname, '../..');
const declarations = clientDeclarations(root);
await buildClient(root, join(root, 'dist/client'), declarations);
await buildCommand(root, join(root, 'dist/cli'), declarations);
await buildService(root, join(root, 'dist/assay'), declarations);
process.stdout.write('To pack them: npm pack ./dist/client ./dist/cli ./dist/assay\n');
