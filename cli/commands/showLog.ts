import type { ServiceClient } from '../../client/index.ts';
import { NotFoundError } from '../../client/index.ts';
import { connect } from '../credentials/connect.ts';
import { findProject } from '../lookup/findProject.ts';
import { isUuid } from '../lookup/isUuid.ts';
import { cut } from '../output/table.ts';
import { type TreeRecord, traceTree } from '../records/traceTree.ts';
import { notFound, usageError } from '../terminal/commandError.ts';
import { say, sayJson, type Terminal, widthOf, withoutControlCharacters } from '../terminal/terminal.ts';
import type { WatchOptions } from './watch.ts';

/** A trace as a tree; of a span its trace, with the span marked. */
export async function showLog(terminal: Terminal, id: string, options: WatchOptions): Promise<void> {
  if (!isUuid(id))
    throw usageError(`${JSON.stringify(id)} is no id of a trace or span: assay logs search --column id name finds them`);
  const client = await connect(terminal, options);
  const at = `/projects/${await findProject(client, options)}`;
  const spanId = id.toLowerCase();
  const found =
    (await recordAt<TreeRecord>(client, `${at}/traces/${id}`, terminal.signal)) ??
    (await traceOfSpan(client, at, id, terminal.signal));
  if (!found) throw notFound(`this project has no trace or span with the id ${id}: name another project with --project`);
  const marked = found.id === spanId ? undefined : spanId;
  if (options.json) return sayJson(terminal, { trace: found, span_id: marked ?? null });
  const width = widthOf(terminal.stdout, terminal.environment);
  for (const line of traceTree(found, marked))
    await say(terminal, cut(withoutControlCharacters(line).replaceAll(/[\t\n]+/g, ' '), width));
}

async function traceOfSpan(client: ServiceClient, at: string, id: string, signal: AbortSignal): Promise<TreeRecord | undefined> {
  const span = await recordAt<{ trace_id: string }>(client, `${at}/spans/${id}`, signal);
  return span && recordAt<TreeRecord>(client, `${at}/traces/${span.trace_id}`, signal);
}

const recordAt = <T>(client: ServiceClient, path: string, signal: AbortSignal): Promise<T | undefined> =>
  client.send<T>(path, { signal }).catch((err: unknown) => {
    if (err instanceof NotFoundError) return undefined;
    throw err;
  });
