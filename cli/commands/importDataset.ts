import { randomUUID } from 'node:crypto';
import { openAsBlob } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import { blob, buffer } from 'node:stream/consumers';
import { readEnvironment } from '../../client/environment.ts';
import {
  type CreatedDataset,
  type DatasetResponse,
  editDataset,
  HttpStatusError,
  type ServiceClient,
} from '../../client/index.ts';
import { jsonWithBigInts } from '../../shared/wire/longNumbers.ts';
import { connect, type ServiceOptions } from '../credentials/connect.ts';
import { datasetByNameOrId, findDataset } from '../lookup/findDataset.ts';
import { findProject, type ProjectOptions } from '../lookup/findProject.ts';
import { type CsvRead, csvWords, type DelimiterName, formatOf, type Row, type RowFormat, readRows } from '../rows/rowFiles.ts';
import { fileError, isFileProblem, usageError } from '../terminal/commandError.ts';
import { counted, remark, say, sayJson, type Terminal } from '../terminal/terminal.ts';

export interface ImportDatasetOptions extends ServiceOptions, ProjectOptions {
  json?: boolean;
  name?: string;
  format?: RowFormat;
  delimiter?: DelimiterName;
  append?: boolean;
  replace?: boolean;
}

/** Milliseconds: how long a large file takes depends on the line, and Ctrl-C ends it. */
const UNLIMITED = Number.POSITIVE_INFINITY;

/** Most rows that one version appends. */
const MAX_APPENDED = 100_000;

/** Makes a dataset of a file, or with `--replace` and `--append` a new version of one: whichever was not asked for is refused. */
export async function importDataset(terminal: Terminal, file: string, options: ImportDatasetOptions): Promise<void> {
  const format = options.format ?? formatOf(file);
  if (!format) throw usageError(`${file} does not say what it holds: add --format csv, jsonl, json or parquet`);
  const name = options.name ?? (file === '-' ? undefined : basename(file, extname(file)));
  if (!name) throw usageError('a dataset needs a name: add --name');
  if (options.delimiter && format !== 'csv') throw usageError(`--delimiter is of csv, and ${format} has none`);
  const { delimiter } = options;
  let csv: CsvRead | undefined;
  const onCsvRead = (read: CsvRead | undefined) => {
    csv = read;
  };
  const content = { path: file === '-' ? undefined : resolve(terminal.folder, file), format, delimiter, onCsvRead };
  const client = await connect(terminal, options);
  const change = options.append ? 'append' : options.replace ? 'replace' : undefined;
  const existing = change
    ? await findDataset(client, name, `check its name, or leave --${change} out to make it`)
    : await datasetByNameOrId(client, name);
  if (!change && existing) throw isTaken(existing.name);
  if (existing && change === 'append') await append(terminal, client, existing, content);
  else if (existing) await replace(terminal, client, existing, content);
  const dataset = existing
    ? await client.send<DatasetResponse>(`/datasets/${existing.id}`)
    : await make(terminal, client, { name, projectId: await homeOf(client, options) }, content);
  if (options.json) await sayJson(terminal, dataset);
  else await say(terminal, sentence(dataset));
  const read = csv && csvWords(csv);
  if (read) await remark(terminal, `the file was read with ${read}`);
}

const isTaken = (name: string) =>
  usageError(
    `there is a dataset ${JSON.stringify(name)} already: --append adds the rows to it, --replace makes them its new version, --name makes another dataset`,
  );

const sentence = ({ name, num_rows, column_names, current_version_index: version }: DatasetResponse): string =>
  `${JSON.stringify(name)} has ${counted(num_rows ?? 0, 'row')} (version ${version}), columns: ${(column_names ?? []).join(', ')}`;

/** The project that it belongs to; without one it is the organization's. */
async function homeOf(client: ServiceClient, { project, projectId }: ProjectOptions): Promise<string | undefined> {
  const environment = readEnvironment();
  if (!(project ?? projectId ?? environment.project ?? environment.projectId)) return undefined;
  return findProject(client, { project, projectId });
}

interface Content {
  /** Absent: the input. */
  path: string | undefined;
  format: RowFormat;
  delimiter: DelimiterName | undefined;
  onCsvRead: (read: CsvRead | undefined) => void;
}

interface NewDataset {
  name: string;
  projectId?: string | undefined;
  hidden?: boolean;
}

async function make(terminal: Terminal, client: ServiceClient, dataset: NewDataset, content: Content): Promise<DatasetResponse> {
  const { name, projectId, hidden } = dataset;
  const form = new FormData();
  form.set('name', name);
  if (projectId) form.set('project_id', projectId);
  if (hidden) form.set('hidden', 'true');
  const { bytes, format } = await uploadOf(terminal, content);
  form.set('file', bytes, name);
  try {
    const { signal } = terminal;
    const made = await client.send<CreatedDataset>('/datasets', {
      method: 'POST',
      form,
      query: { format, delimiter: content.delimiter },
      timeoutMs: UNLIMITED,
      signal,
    });
    content.onCsvRead(made.csv);
    return made;
  } catch (err) {
    if (err instanceof HttpStatusError && err.status === 409) throw isTaken(name); // made meanwhile
    throw err;
  }
}

/** The service reads the file, but for Parquet, which it gets as lines of JSON. */
async function uploadOf(terminal: Terminal, content: Content): Promise<{ bytes: Blob; format: RowFormat }> {
  const { path, format } = content;
  if (format === 'parquet') {
    const lines = (await rowsOf(terminal, content)).map((row) => `${jsonWithBigInts(row)}\n`);
    return { bytes: new Blob(lines), format: 'jsonl' };
  }
  if (!path) return { bytes: await blob(terminal.stdin), format };
  return { bytes: (await isFile(path)) ? await openAsBlob(path) : new Blob([await readFile(path).catch(whyNot(path))]), format };
}

/** A pipe cannot be read piece by piece later on, and of a folder nothing. */
async function isFile(path: string): Promise<boolean> {
  const file = await open(path).catch(whyNot(path));
  try {
    return (await file.stat()).isFile();
  } finally {
    await file.close();
  }
}

const whyNot =
  (path: string) =>
  (err: unknown): never => {
    throw isFileProblem(err) ? fileError(err, path) : err;
  };

const rowsOf = async (terminal: Terminal, { path, format, ...csv }: Content): Promise<Row[]> =>
  path ? readRows(path, format, csv).catch(whyNot(path)) : readRows(await buffer(terminal.stdin), format, csv);

/** The new content is complete in the service before the dataset takes it over, in one step. */
async function replace(
  terminal: Terminal,
  client: ServiceClient,
  { id, name }: DatasetResponse,
  content: Content,
): Promise<void> {
  const source = await make(terminal, client, { name: `${name.slice(0, 80)} ${randomUUID()}`, hidden: true }, content);
  const { signal } = terminal;
  try {
    // A repeat could start while the first still copies.
    const once = { timeoutMs: UNLIMITED, repeatable: false };
    await client.send(`/datasets/${id}/content`, { method: 'PUT', body: { dataset_id: source.id }, ...once, signal });
  } finally {
    await client
      .send(`/datasets/${source.id}`, { method: 'DELETE' })
      .catch((err: Error) => remark(terminal, `the hidden dataset ${source.id} of this import is left over: ${err.message}`));
  }
}

async function append(terminal: Terminal, client: ServiceClient, { id }: DatasetResponse, content: Content): Promise<void> {
  const rows = await rowsOf(terminal, content);
  if (rows.length === 0) throw usageError('the file has no rows: there is nothing to append');
  if (rows.length > MAX_APPENDED)
    throw usageError(`the file has ${rows.length} rows, and at most ${MAX_APPENDED} are appended at a time: split it`);
  const edits = rows.map((values) => ({ edit_type: 'append_row' as const, values }));
  await editDataset({ client, id, edits, signal: terminal.signal });
}
