import { applyNodeSettings, serverSettings } from '../shared/childProcesses/nodeSettings.ts';

applyNodeSettings(serverSettings, process.env);
const { runApi } = await import('./apiProcess.ts');
await runApi(process.env);
