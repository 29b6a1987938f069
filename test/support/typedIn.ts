import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Typed } from './assay.ts';
import type { TestProject, TestService } from './testService.ts';

/** Where a command is typed: a new folder with these files and the client library, and the address, key and project in its environment. */
export function typedIn(
  service: TestService,
  project: TestProject,
  files: Record<string, string> = {},
): Typed & { environment: Record<string, string> } {
  const folder = mkdtempSync(join(tmpdir(), 'assay-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(import.meta.dirname, '../../client'), join(folder, 'client'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return {
    folder,
    environment: { SERVICE_API_URL: service.url, SERVICE_API_KEY: service.apiKey, SERVICE_PROJECT: project.name },
  };
}
