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
  const body = {
    ...runSelector(run),
    ...{ root_type: kind.slice(0, -1), export_format: format },
    ...(filter ? { filter_tree: filter } : {}),
    ...(format === 'csv' ? { byte_order_mark: true } : {}),
  };
  const stream = await download(`/projects/${run.projectId}/export_records`, { body });
  saveFile([await new Response(stream).blob()], `${kind}.${format}`);
}

/** Gives the browser a file to save. */
export function saveFile(pieces: readonly BlobPart[], name: string): void {
  const url = URL.createObjectURL(new Blob([...pieces]));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads it after this turn.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
