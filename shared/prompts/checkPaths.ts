import { RequestInvalid } from '../errors/errors.ts';
import { closestNames } from '../identifiers/closestNames.ts';
import { TextTooLarge } from './boundedText.ts';
import { boundNames, type PromptTemplate, promptVariables } from './render.ts';

/** Rows that are looked at: in more, a path may be there that none of these has. */
const MAX_ROWS = 10_000;
const ROWS_AT_A_TIME = 1000;
/** Paths and their neighbours that an error names. */
const MAX_NAMED = 100;

/** The rows in which a template's paths must exist. */
export interface PathData {
  rowCount: number;
  columnNames: readonly string[];
  values(from: number, count: number): Promise<Readonly<Record<string, unknown>>[]>;
}

/**
 * Refuses a template with a path, as in `{{input.user.name}}`, that no row has. Rows are read until each path was found; of more than 10,000 rows a path
 * that the first do not have is let through.
 * @throws RequestInvalid naming the path and the closest one
 */
export async function checkPaths(
  template: PromptTemplate,
  data: PathData,
  loc: (string | number)[] = ['body', 'prompt_template_version_id'],
): Promise<void> {
  const columns = new Set(data.columnNames);
  const open = new Set(promptVariables(template).filter((name) => name.includes('.') && !columns.has(name)));
  const neighbours = new Map<string, Set<string>>();
  for (let at = 0; open.size > 0 && at < Math.min(data.rowCount, MAX_ROWS); ) {
    const rows = await data.values(at, ROWS_AT_A_TIME);
    if (rows.length === 0) break;
    at += rows.length;
    for (const row of rows) if (open.size > 0) look(row, open, neighbours);
  }
  if (open.size === 0 || data.rowCount > MAX_ROWS) return;
  throw new RequestInvalid(
    [...open].slice(0, MAX_NAMED).map((name) => {
      const [closest] = closestNames(name, [...(neighbours.get(name) ?? [])], 1);
      const hint = closest === undefined ? '' : `, the closest is {{${closest}}}`;
      const msg = `the prompt uses {{${name}}}, which no row of the data has${hint}`;
      return { loc, type: 'prompt_variable_unknown', msg, ctx: { variable: name } };
    }),
  );
}

/** Takes the paths that the row has out of `open`, and notes what stands beside the others. */
function look(row: Readonly<Record<string, unknown>>, open: Set<string>, neighbours: Map<string, Set<string>>): void {
  const { bound, beside } = bindings(open, row);
  for (const name of bound) open.delete(name);
  for (const [name, names] of beside) {
    const known = neighbours.get(name) ?? new Set();
    neighbours.set(name, known);
    for (const one of names) if (known.size < MAX_NAMED) known.add(one);
  }
}

/** A row in which the names cannot be looked up counts as one that has them: it fails alone, with that reason. */
function bindings(open: ReadonlySet<string>, row: Readonly<Record<string, unknown>>): ReturnType<typeof boundNames> {
  try {
    return boundNames(open, row);
  } catch (err) {
    if (err instanceof TextTooLarge) return { bound: [...open], beside: new Map() };
    throw err;
  }
}
