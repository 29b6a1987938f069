import { enableCompileCache } from 'node:module';
import process from 'node:process';
import { ownResults, runApart } from './terminal/ownOutput.ts';

// Half of the time of a short command is reading it; kept compiled, `assay --help` takes half as long.
enableCompileCache();
const words = process.argv.slice(2);
const results = ownResults(process.env);
// `run` loads the code of a user, and whatever that prints, or lets others print, is no result.
if (words[0] === 'run' && !results) await runApart(import.meta.filename, words, process.env);
const { runAssay } = await import('./runAssay.ts');
await runAssay(process, words, results ?? process.stdout);
