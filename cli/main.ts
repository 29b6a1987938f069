import { enableCompileCache } from 'node:module';
import process from 'node:process';

// Half of the time of a short command is reading it; kept compiled, `assay --help` takes half as long.
enableCompileCache();
const { runAssay } = await import('./runAssay.ts');
await runAssay(process, process.argv.slice(2));
