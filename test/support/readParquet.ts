import { zstdDecompressSync } from 'node:zlib';
import { parquetMetadata, parquetRead } from 'hyparquet';

export interface ParquetContent {
  columns: string[];
  rows: unknown[][];
  rowGroups: number;
}

/** A Parquet file as a reader that is not ours sees it: times as microseconds since 1970, integers as bigint. */
export async function readParquet(file: Uint8Array): Promise<ParquetContent> {
  const bytes = new Uint8Array(file).buffer;
  const metadata = parquetMetadata(bytes);
  let rows: unknown[][] = [];
  await parquetRead({
    file: bytes,
    compressors: { ZSTD: (input, length) => new Uint8Array(zstdDecompressSync(input, { maxOutputLength: length + 1 })) },
    parsers: { timestampFromMicroseconds: (microseconds) => microseconds },
    rowFormat: 'array',
    onComplete: (read) => {
      rows = read;
    },
  });
  return { columns: metadata.schema.slice(1).map(({ name }) => name), rows, rowGroups: metadata.row_groups.length };
}
