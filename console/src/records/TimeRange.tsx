import { type FormEvent, useRef } from 'react';
import { inputTime, localZone, timeOfInput, timeText } from '../parts/format.ts';
import { Icon } from '../parts/Icon.tsx';
import { type Preferences, usePreferences } from '../parts/preferences.ts';
import styles from './RecordsPage.module.css';
import { useChangeAddress, useInAddress } from './useRecordsView.ts';

const ranges = [
  ['', 'Any time'],
  ['15m', 'Last 15 minutes'],
  ['1h', 'Last hour'],
  ['1d', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
] as const;

/** Since when and until when: one of the usual ranges, or two moments in the zone that the person chose. The address has them in UTC. */
export function TimeRange() {
  const from = useInAddress('from');
  const to = useInAddress('to');
  const change = useChangeAddress();
  const { zone } = usePreferences();
  const menu = useRef<HTMLDivElement>(null);
  const choose = (range: { from: string | undefined; to: string | undefined }) => {
    menu.current?.hidePopover();
    change(range);
  };
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    choose({ from: timeOfInput(String(fields.get('from')), zone), to: timeOfInput(String(fields.get('to')), zone) });
  };
  return (
    <>
      <button type="button" popoverTarget="times" className="iconed">
        <Icon name="clock" />
        <span className="only-read">Time range: </span>
        {labelOf(from, to, zone)}
      </button>
      <div ref={menu} popover="auto" id="times" className={`menu ${styles.times}`}>
        {ranges.map(([range, label]) => (
          <button
            key={range}
            type="button"
            className="plain item"
            aria-pressed={(from ?? '') === range && to === undefined}
            onClick={() => choose({ from: range || undefined, to: undefined })}
          >
            {label}
          </button>
        ))}
        <form key={`${from} ${to} ${zone}`} onSubmit={send}>
          <label>
            From
            <input type="datetime-local" name="from" step="1" defaultValue={inputTime(from, zone)} />
          </label>
          <label>
            Until
            <input type="datetime-local" name="to" step="1" defaultValue={inputTime(to, zone)} />
          </label>
          <p className="quiet">{zone === 'UTC' ? 'UTC' : `${localZone()} time`}</p>
          <button type="submit">Show these times</button>
        </form>
      </div>
    </>
  );
}

function labelOf(from: string | undefined, to: string | undefined, zone: Preferences['zone']): string {
  const usual = to === undefined && ranges.find(([range]) => range === (from ?? ''));
  if (usual) return usual[1];
  const moment = (text: string) => (Number.isNaN(Date.parse(text)) ? text : timeText(text, zone));
  if (from === undefined) return `Until ${moment(to ?? '')}`;
  return to === undefined ? `Since ${moment(from)}` : `${moment(from)} – ${moment(to)}`;
}
