import { filterOf, runSelector, type Selection } from './selection.ts';
import { download } from './service.ts';

export const exportFormats = [
  ['jsonl', 'JSON lines'],
  ['csv', 'CSV'],
  ['parquet', 'Parquet'],
] as const;
export type ExportFormat = (typeof exportFormats)[number][0];

/** Saves the records as a file of the browser, all their columns in it. */
export async function saveAs(format: ExportFormat, selection: Selection): Promise<void> {
  const { run, kind } = selection;
  const filter = filterOf(selection);
  const stream = await download(`/projects/${run.projectId}/export_records`, {
    ...runSelector(run),
    ...{ root_type: kind.slice(0, -1), export_format: format },
    ...(filter ? { filter_tree: filter } : {}),
    ...(format === 'csv' ? { byte_order_mark: true } : {}),
  });
  const url = URL.createObjectURL(await new Response(stream).blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = `${kind}.${format}`;
  link.click();
  // The browser reads it after this turn.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
