import { type KeyboardEvent, type ReactNode, useId } from 'react';
import styles from './Tabs.module.css';

interface Props<T extends string> {
  label: string;
  tabs: readonly (readonly [id: T, label: string])[];
  chosen: T;
  onChoose(id: T): void;
  children: ReactNode;
}

/** One of several views of the same; the arrows go from one to the next. */
export function Tabs<T extends string>({ label, tabs, chosen, onChoose, children }: Props<T>) {
  const id = useId();
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    event.stopPropagation();
    const at = (tabs.findIndex(([one]) => one === chosen) + step + tabs.length) % tabs.length;
    event.currentTarget.querySelectorAll('button')[at]?.focus();
    onChoose((tabs[at] as readonly [T, string])[0]);
  };
  return (
    <>
      <div role="tablist" aria-label={label} className={styles.tabs} onKeyDown={onKeyDown}>
        {tabs.map(([one, text]) => (
          <button
            key={one}
            type="button"
            role="tab"
            id={`${id}-${one}`}
            aria-selected={one === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={one === chosen ? 0 : -1}
            onClick={() => onChoose(one)}
          >
            {text}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${chosen}`} className={styles.panel}>
        {children}
      </div>
    </>
  );
}
