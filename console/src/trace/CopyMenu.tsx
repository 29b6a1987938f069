import { useId, useRef } from 'react';
import type { RecordNode } from '../data/records.ts';
import { Icon } from '../parts/Icon.tsx';
import { useCopy } from '../parts/useCopy.ts';
import { useKeys } from '../parts/useKeys.ts';
import { copies } from './copies.ts';

/** Copies a record for use elsewhere: its address, its id, itself in several forms. */
export function CopyMenu({ record, projectId }: { record: RecordNode; projectId: string }) {
  const id = useId();
  const menu = useRef<HTMLDivElement>(null);
  const [said, copy] = useCopy();
  const copyAs = (wanted: string) => {
    const [, text] = copies.find(([name]) => name === wanted) ?? [];
    menu.current?.hidePopover();
    if (text) void copy(text(record, projectId));
  };
  useKeys({ y: () => copyAs('Id'), Y: () => copyAs('Link to this place') });
  return (
    <>
      <button type="button" popoverTarget={id} className="iconed">
        <Icon name="copy" />
        <span aria-live="polite">{said ?? 'Copy'}</span>
      </button>
      <div ref={menu} popover="auto" id={id} className="menu">
        {copies.map(([name]) => (
          <button key={name} type="button" className="plain item" onClick={() => copyAs(name)}>
            {name}
            {name === 'Id' && <kbd>y</kbd>}
            {name === 'Link to this place' && <kbd>Y</kbd>}
          </button>
        ))}
      </div>
    </>
  );
}
