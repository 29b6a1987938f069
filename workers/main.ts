import { applyNodeSettings, serverSettings } from '../shared/childProcesses/nodeSettings.ts';

applyNodeSettings(serverSettings, process.env);
const { runWorker } = await import('./workerProcess.ts');
await runWorker(process.env);
