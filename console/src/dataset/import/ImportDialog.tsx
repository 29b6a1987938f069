import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useEffect, useId, useRef, useState } from 'react';
import type { Target } from '../../../../shared/datasetFiles/mappedRow.ts';
import { usualTargets } from '../../../../shared/datasetFiles/mappedRow.ts';
import type { Survey } from '../../../../shared/datasetFiles/survey.ts';
import type { Dataset } from '../../data/datasets.ts';
import { saveFile } from '../../data/exports.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { bytesText, countText } from '../../parts/format.ts';
import { say } from '../../parts/notice.ts';
import { ColumnTargets } from './ColumnTargets.tsx';
import { FileField } from './FileField.tsx';
import styles from './ImportDialog.module.css';
import { type Decided, importAsNew, importInto, leftOut, MOST_APPENDED } from './importRows.ts';
import { OddPlaces } from './OddPlaces.tsx';
import { Preview } from './Preview.tsx';
import { type Reading, useSurvey } from './useSurvey.ts';

interface Props {
  /** A new dataset of the project, or one that rows are added to. */
  target: { dataset?: Dataset; projectId?: string | undefined };
  onClose(): void;
}

/** Makes rows of a file: what is in it, what its columns are, what is odd, and how the rows will look, before anything is sent. */
export function ImportDialog({ target, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const headingId = useId();
  const navigate = useNavigate();
  const [file, setFile] = useState<File>();
  const [given, setGiven] = useState<Partial<Reading>>({});
  const [name, setName] = useState('');
  const [takesOdd, setTakesOdd] = useState(true);
  const [changed, setChanged] = useState<ReadonlyMap<string, Target>>(new Map());
  const { reading, found, rows, error } = useSurvey(file, given);
  const targets = new Map([...usualTargets(found?.columns ?? []), ...changed]);
  const choose = (next: File) => {
    setFile(next);
    setGiven({});
    setChanged(new Map());
    setName(next.name.replace(/\.[^.]*$/, '').slice(0, 128));
  };
  const count = found ? takenOf(found, takesOdd) : 0;
  const isTooMany = target.dataset !== undefined && count > MOST_APPENDED;
  const decided: Decided | undefined = file && reading && { file, ...reading, targets, takesOdd };
  const importing = useMutation({
    async mutationFn(what: Decided) {
      if (target.dataset) await importInto(what, target.dataset);
      else {
        const projectId = target.projectId as string;
        const datasetId = await importAsNew(what, name.trim(), projectId);
        await navigate({ to: '/datasets/$datasetId', params: { datasetId }, search: { project: projectId } });
      }
      say(`${countText(count)} ${count === 1 ? 'row' : 'rows'} imported`);
    },
    onSuccess: () => dialog.current?.close(),
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (decided && !importing.isPending) importing.mutate(decided);
  };
  return (
    <dialog ref={dialog} aria-labelledby={headingId} onClose={onClose} className={styles.dialog}>
      <form className={styles.form} onSubmit={send}>
        <h2 id={headingId}>{target.dataset ? `Import rows into ${target.dataset.name}` : 'Import a file'}</h2>
        <FileField file={file} reading={reading} onFile={choose} onReading={(next) => setGiven({ ...given, ...next })} />
        {error !== undefined && <ErrorNote error={error} />}
        {file && reading && !found && error === undefined && (
          <p role="status" className="quiet">
            Reading {bytesText(file.size)}: {countText(rows)} rows …
          </p>
        )}
        {found && decided && (
          <>
            <p role="status">
              {countText(found.rows)} rows, {countText(found.columns.length)} columns
            </p>
            {found.odd > 0 && (
              <OddPlaces
                {...{ found, takesOdd }}
                onTakesOdd={setTakesOdd}
                onSave={async () => saveFile([await leftOut(decided)], `left out of ${decided.file.name}`)}
              />
            )}
            <ColumnTargets
              columns={found.columns}
              sample={found.sample}
              targets={targets}
              onChange={(column, to) => setChanged(new Map([...changed, [column, to]]))}
            />
            <Preview found={found} targets={targets} format={decided.format} />
            {!target.dataset && (
              <label className={styles.name}>
                Name of the dataset
                <input required maxLength={128} value={name} onChange={(event) => setName(event.target.value)} />
              </label>
            )}
            {isTooMany && (
              <p className="bad">
                At most {countText(MOST_APPENDED)} rows at a time are added to a dataset; import them as a new one.
              </p>
            )}
          </>
        )}
        {importing.error && <ErrorNote error={importing.error} />}
        <div className={styles.buttons}>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={!found || count === 0 || isTooMany || importing.isPending}>
            {importing.isPending ? 'Importing …' : `Import ${found ? countText(count) : ''} rows`}
          </button>
        </div>
      </form>
    </dialog>
  );
}

const takenOf = ({ rows, odd, lost }: Survey, takesOdd: boolean): number => (takesOdd ? rows : rows - (odd - lost));
