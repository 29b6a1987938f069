import { fullTimeText, timeText } from './format.ts';
import { type Preferences, usePreferences } from './preferences.ts';

/** A moment in the zone that the person chose; the tooltip names the zone. */
export function Time({ at }: { at: string }) {
  const { zone } = usePreferences();
  return timeIn(at, zone);
}

/** The same for a row that is one of many, which asks for the zone once. */
export const timeIn = (at: string, zone: Preferences['zone']) => (
  <time dateTime={at} title={fullTimeText(at, zone)}>
    {timeText(at, zone)}
  </time>
);
