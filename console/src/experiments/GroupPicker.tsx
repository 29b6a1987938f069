import type { ExperimentGroup } from '../data/experiments.ts';
import { countText } from '../parts/format.ts';
import { Icon } from '../parts/Icon.tsx';
import styles from './ExperimentsPage.module.css';
import { useExperimentsAddress } from './useExperimentsView.ts';

/** Lets the reader choose a group, and shows the series that was chosen in the table. */
export function GroupPicker({ groups }: { groups: readonly ExperimentGroup[] }) {
  const [{ group, series }, change] = useExperimentsAddress();
  return (
    <div className={styles.groups}>
      <select
        aria-label="Group"
        value={group ?? ''}
        onChange={(event) => change({ group: event.target.value || undefined, at: undefined })}
      >
        <option value="">All groups</option>
        {groups.map(({ id, name, experiment_count }) => (
          <option key={id} value={id}>
            {name} · {countText(experiment_count)}
          </option>
        ))}
        {group !== undefined && !groups.some(({ id }) => id === group) && <option value={group}>A group that is gone</option>}
      </select>
      {series !== undefined && (
        <button
          type="button"
          className={`iconed ${styles.seriesChip}`}
          onClick={() => change({ series: undefined, at: undefined })}
        >
          <span className="quiet">series</span> <span className="one-line">{series}</span>
          <span className="only-read">: show all</span>
          <Icon name="close" />
        </button>
      )}
    </div>
  );
}
