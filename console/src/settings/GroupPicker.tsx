import { useQuery } from '@tanstack/react-query';
import { groupsQuery } from '../data/accounts.ts';
import styles from './Settings.module.css';

/** Chooses one of the groups that the account sees, as the field `group` of a form. */
export function GroupPicker() {
  const { data: groups = [] } = useQuery(groupsQuery);
  return (
    <label className={styles.labelled}>
      Group
      <select name="group" required defaultValue="">
        <option value="" disabled>
          {groups.length === 0 ? 'There is none' : 'Choose one'}
        </option>
        {groups.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
