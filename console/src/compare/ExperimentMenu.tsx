import { useQuery } from '@tanstack/react-query';
import { useDeferredValue, useId, useState } from 'react';
import { type Choosable, choosableQuery } from '../data/comparison.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { Icon } from '../parts/Icon.tsx';
import { Time } from '../parts/Time.tsx';
import styles from './ComparePage.module.css';

interface Props {
  projectId: string;
  /** Names what is chosen here, as `Baseline`. */
  label: string;
  /** The present choice, in words. */
  shown: string;
  chosen: readonly string[];
  /** One of them cannot be chosen here. */
  without?: string | undefined;
  /** Several may be chosen: a click adds or takes away. */
  isMany?: boolean;
  onChoose(ids: string[]): void;
}

/** Most that one request compares. */
const MOST = 50;

/** A menu in which experiments of the project are found by their name and chosen. */
export function ExperimentMenu({ projectId, label, shown, chosen, without, isMany = false, onChoose }: Props) {
  const id = useId();
  const [name, setName] = useState('');
  const { data = [], error } = useQuery(choosableQuery(projectId, useDeferredValue(name.trim())));
  const choose = (one: string) => {
    if (!isMany) {
      document.getElementById(id)?.hidePopover();
      onChoose([one]);
    } else onChoose(chosen.includes(one) ? chosen.filter((other) => other !== one) : [...chosen, one]);
  };
  const isFull = isMany && chosen.length >= MOST;
  return (
    <>
      <button type="button" popoverTarget={id} className={`iconed ${styles.picker}`}>
        <span className="quiet">{label}</span>
        <span className="one-line">{shown}</span>
        <Icon name="chevron" />
      </button>
      <div popover="auto" id={id} className={`menu ${styles.menu}`}>
        <input
          type="search"
          aria-label={`Find an experiment: ${label}`}
          placeholder="Find by name"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        {error && <ErrorNote error={error} />}
        {isFull && <p className="quiet">{MOST} are the most that are compared at once.</p>}
        {data
          .filter((one) => one.id !== without)
          .map((one) => (
            <Choice
              key={one.id}
              one={one}
              isChosen={chosen.includes(one.id)}
              isDisabled={isFull && !chosen.includes(one.id)}
              onChoose={() => choose(one.id)}
            />
          ))}
        {data.length === 0 && !error && <p className="quiet">No experiment has such a name.</p>}
      </div>
    </>
  );
}

function Choice(props: { one: Choosable; isChosen: boolean; isDisabled: boolean; onChoose(): void }) {
  const { one, isChosen, isDisabled, onChoose } = props;
  return (
    <button type="button" className="plain item" aria-pressed={isChosen} disabled={isDisabled} onClick={onChoose}>
      <span className="one-line">{one.name}</span>
      <span className="quiet">
        <Time at={one.created_at} />
      </span>
    </button>
  );
}
