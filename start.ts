import { applyNodeSettings, embeddedSettings } from './shared/childProcesses/nodeSettings.ts';

applyNodeSettings(embeddedSettings, process.env);
const { runService } = await import('./service.ts');
await runService(process.env);
