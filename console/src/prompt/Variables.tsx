import { useQuery } from '@tanstack/react-query';
import { variablesQuery } from '../data/prompts.ts';
import styles from './Prompt.module.css';

/** The variables that texts have, which the rows of a dataset must give. */
export function Variables({ texts }: { texts: readonly string[] }) {
  const { data } = useQuery(variablesQuery(texts));
  if (!data) return null;
  return (
    <p className={styles.variables}>
      <span className="quiet">{data.length === 0 ? 'No variables' : 'Variables'}</span>
      {data.map((name) => (
        <code key={name}>{name}</code>
      ))}
    </p>
  );
}
