import { useEffect, useState } from 'react';
import type { Delimiter } from '../../../../shared/csv/detectDelimiter.ts';
import { delimiterOf, type FileFormat, formatOf, headOf } from '../../../../shared/datasetFiles/fileItems.ts';
import { type Survey, survey } from '../../../../shared/datasetFiles/survey.ts';

/** How a file is read: as somebody says, else as it looks. */
export interface Reading {
  format: FileFormat;
  delimiter: Delimiter;
}

/** Surveys a file, anew when somebody says that it is of another kind. */
export function useSurvey(file: File | undefined, given: Partial<Reading>) {
  const [state, setState] = useState<{ reading?: Reading; found?: Survey; rows: number; error?: unknown }>({ rows: 0 });
  const { format, delimiter } = given;
  useEffect(() => {
    if (!file) return;
    const ending = new AbortController();
    setState({ rows: 0 });
    (async () => {
      const head = await headOf(file);
      const reading = { format: format ?? formatOf(file.name, head), delimiter: delimiter ?? delimiterOf(head) };
      ending.signal.throwIfAborted();
      setState({ reading, rows: 0 });
      const onRead = (rows: number) => ending.signal.aborted || setState({ reading, rows });
      const found = await survey(file, reading, { onRead, signal: ending.signal });
      setState({ reading, found, rows: found.rows });
    })().catch((error: unknown) => ending.signal.aborted || setState((now) => ({ ...now, error })));
    return () => ending.abort();
  }, [file, format, delimiter]);
  return state;
}
