import { useQuery } from '@tanstack/react-query';
import { versionQuery } from '../data/datasetRows.ts';
import { datasetListQuery, datasetQuery } from '../data/datasets.ts';
import type { RowPlace } from '../data/playground.ts';
import { countText } from '../parts/format.ts';
import { Icon } from '../parts/Icon.tsx';
import styles from './Playground.module.css';

interface Props {
  projectId: string;
  row: RowPlace | undefined;
  onRow(row: RowPlace | undefined): void;
}

/** Most datasets that the list has: the last changed. */
const MOST = 500;

/** A row of a dataset that fills in the variables; buttons go to the next. */
export function RowPicker({ projectId, row, onRow }: Props) {
  const { data: list } = useQuery(datasetListQuery({ projectId, name: '', sort: '-updated_at', limit: MOST }));
  const { data: chosen } = useQuery({ ...datasetQuery(row?.datasetId ?? ''), enabled: row !== undefined });
  const { data: version } = useQuery({ ...versionQuery(row?.datasetId ?? '', row?.version ?? 0), enabled: row !== undefined });
  const datasets = list?.items ?? [];
  const others =
    row && !datasets.some(({ id }) => id === row.datasetId) ? [{ id: row.datasetId, name: chosen?.name ?? '…' }] : [];
  const choose = (id: string) => {
    const dataset = datasets.find((one) => one.id === id);
    onRow(dataset && { datasetId: id, version: dataset.current_version_index, index: 0 });
  };
  const last = (version?.num_rows ?? 1) - 1;
  const go = (index: number) => row && onRow({ ...row, index: Math.max(0, Math.min(last, index)) });
  if (datasets.length === 0 && !row) return null;
  return (
    <div className={styles.picker}>
      <label className={styles.dataset}>
        Filled in from
        <select value={row?.datasetId ?? ''} onChange={(event) => choose(event.target.value)}>
          <option value="">nothing: typed here</option>
          {[...others, ...datasets].map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {row && (
        <>
          <label>
            Version
            <select value={row.version} onChange={(event) => onRow({ ...row, version: Number(event.target.value), index: 0 })}>
              {versionsUpTo(Math.max(chosen?.current_version_index ?? 0, row.version)).map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </label>
          <label>
            <span>
              Row <span className="quiet">of {countText(version?.num_rows)}</span>
            </span>
            <input
              type="number"
              min={1}
              max={last + 1}
              value={row.index + 1}
              onChange={({ target }) => target.value !== '' && go(Number(target.value) - 1)}
            />
          </label>
          <div className={styles.steps}>
            <button
              type="button"
              className="iconed"
              aria-label="The row before"
              disabled={row.index === 0}
              onClick={() => go(row.index - 1)}
            >
              <Icon name="up" />
            </button>
            <button
              type="button"
              className="iconed"
              aria-label="The next row"
              disabled={row.index >= last}
              onClick={() => go(row.index + 1)}
            >
              <Icon name="down" />
            </button>
          </div>
        </>
      )}
    </div>
  );
}

const MOST_VERSIONS = 200;

/** The newest versions, newest first; an older one is reached by its link. */
const versionsUpTo = (newest: number): number[] =>
  Array.from({ length: Math.min(MOST_VERSIONS, Math.max(1, newest)) }, (_, at) => newest - at);
