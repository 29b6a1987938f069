import { applyNodeSettings, embeddedSettings } from '../shared/childProcesses/nodeSettings.ts';

applyNodeSettings(embeddedSettings, process.env);
await import('./demo.ts');
