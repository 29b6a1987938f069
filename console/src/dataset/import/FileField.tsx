import { type DragEvent, useRef, useState } from 'react';
import type { Delimiter } from '../../../../shared/csv/detectDelimiter.ts';
import type { FileFormat } from '../../../../shared/datasetFiles/fileItems.ts';
import { bytesText } from '../../parts/format.ts';
import styles from './ImportDialog.module.css';
import type { Reading } from './useSurvey.ts';

interface Props {
  file: File | undefined;
  reading: Reading | undefined;
  onFile(file: File): void;
  onReading(reading: Partial<Reading>): void;
}

const formats: readonly (readonly [FileFormat, string])[] = [
  ['csv', 'CSV'],
  ['jsonl', 'JSON lines'],
  ['json', 'JSON'],
];
const separators: readonly (readonly [Delimiter, string])[] = [
  [',', 'comma'],
  [';', 'semicolon'],
  ['\t', 'tab'],
  ['|', 'bar'],
];

/** The file, chosen or dropped here, and how it is read. */
export function FileField({ file, reading, onFile, onReading }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const [isOver, setIsOver] = useState(false);
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    const [dropped] = event.dataTransfer.files;
    if (dropped) onFile(dropped);
  };
  return (
    <div className={styles.file}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the button in it does the same */}
      <div
        className={styles.drop}
        data-over={isOver}
        onDragOver={(event) => {
          event.preventDefault();
          setIsOver(true);
        }}
        onDragLeave={() => setIsOver(false)}
        onDrop={onDrop}
      >
        <input
          ref={field}
          type="file"
          aria-label="File"
          accept=".csv,.tsv,.txt,.json,.jsonl,.ndjson"
          className="only-read"
          onChange={(event) => {
            const [chosen] = event.target.files ?? [];
            if (chosen) onFile(chosen);
            event.target.value = '';
          }}
        />
        <button type="button" onClick={() => field.current?.click()}>
          {file ? 'Another file' : 'Choose a file'}
        </button>
        <span className="quiet">
          {file ? `${file.name}, ${bytesText(file.size)}` : 'or drop it here: CSV, JSON lines or JSON'}
        </span>
      </div>
      {file && reading && (
        <div className={styles.reading}>
          <label>
            Read as{' '}
            <select value={reading.format} onChange={(event) => onReading({ format: event.target.value as FileFormat })}>
              {formats.map(([format, label]) => (
                <option key={format} value={format}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          {reading.format === 'csv' && (
            <label>
              Separator{' '}
              <select value={reading.delimiter} onChange={(event) => onReading({ delimiter: event.target.value as Delimiter })}>
                {separators.map(([delimiter, label]) => (
                  <option key={delimiter} value={delimiter}>
                    {label}
                  </option>
                ))}
              </select>
            </label>
          )}
        </div>
      )}
    </div>
  );
}
