import { deleteExperimentsLater } from '../data/deletions.ts';
import type { Experiment } from '../data/experiments.ts';
import { useMay } from '../data/permissions.ts';
import { countText } from '../parts/format.ts';
import { Icon } from '../parts/Icon.tsx';
import styles from './ExperimentsPage.module.css';

interface Props {
  projectId: string;
  pick: readonly string[];
  loaded: readonly Experiment[];
  onEdit(experiment: Experiment): void;
  onCompare(): void;
  onClear(): void;
}

/** Actions on the experiments that are chosen. */
export function PickBar({ projectId, pick, loaded, onEdit, onCompare, onClear }: Props) {
  const mayDelete = useMay(projectId, 'delete_run');
  const mayEdit = useMay(projectId, 'rename_run');
  const picked = loaded.filter(({ id }) => pick.includes(id));
  const [first] = picked;
  const remove = () => {
    deleteExperimentsLater(picked);
    onClear();
  };
  return (
    <section className={styles.chosen} aria-label="Chosen experiments">
      <span className={styles.total}>{countText(pick.length)} chosen</span>
      {pick.length > 1 && (
        <button type="button" className="primary" onClick={onCompare}>
          Compare <kbd>c</kbd>
        </button>
      )}
      {mayEdit && first && pick.length === 1 && (
        <button type="button" onClick={() => onEdit(first)}>
          Name and tags <kbd>e</kbd>
        </button>
      )}
      {mayDelete && picked.length > 0 && (
        <button type="button" className="bad" onClick={remove}>
          Delete
        </button>
      )}
      <button type="button" className="plain iconed" aria-label="Choose none" onClick={onClear}>
        <Icon name="close" />
      </button>
    </section>
  );
}
