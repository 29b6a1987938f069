import { access } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ExperimentDefinition, ValueError } from '../../client/index.ts';
import { checkDefinitionKeys } from '../../client/runExperimentOptions.ts';
import { usageError } from '../terminal/commandError.ts';
import { withoutControlCharacters } from '../terminal/terminal.ts';
import { lendClient } from './clientForFiles.ts';
import { moduleHint } from './moduleHint.ts';

const howItEnds = 'end it with export default defineExperiment({ … })';

/**
 * The experiment that a TypeScript or JavaScript file exports.
 * @throws CommandError for a file that cannot be loaded or holds no experiment; the error of the file system where there is none
 */
export async function loadExperiment(folder: string, file: string): Promise<ExperimentDefinition & { experimentName: string }> {
  const path = resolve(folder, file);
  await access(path);
  lendClient();
  let exported: { default?: unknown };
  try {
    exported = (await import(pathToFileURL(path).href)) as { default?: unknown };
  } catch (cause) {
    const hint = await moduleHint(cause);
    throw usageError(`${file} cannot be loaded: ${reasonOf(cause, path)}${hint ? `; ${hint}` : ''}`, { cause });
  }
  const { default: definition } = exported;
  if (definition === undefined) throw usageError(`${file} exports no experiment: ${howItEnds}`);
  if (typeof definition !== 'object' || definition === null || Array.isArray(definition))
    throw usageError(`what ${file} exports is no experiment: ${howItEnds}`);
  try {
    checkDefinitionKeys(definition);
  } catch (cause) {
    throw cause instanceof ValueError ? usageError(`${file}: ${cause.message}`, { cause }) : cause;
  }
  const experiment = definition as ExperimentDefinition;
  return { ...experiment, experimentName: experiment.experimentName ?? basename(file, extname(file)) };
}

/** The first line of the message, and the line of the file where it happened. */
function reasonOf(cause: unknown, path: string): string {
  if (!(cause instanceof Error)) return String(cause);
  const message = withoutControlCharacters(cause.message).split('\n')[0] || cause.name;
  const places = cause.stack?.split('\n').filter((line) => line.includes(path)) ?? [];
  const line = places.map((place) => /:(\d+)(?::\d+)?\)?$/.exec(place)?.[1]).find(Boolean);
  return line ? `${message} (line ${line})` : message;
}
