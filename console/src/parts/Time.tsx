import { fullTimeText, timeText } from './format.ts';
import { usePreferences } from './preferences.ts';

/** A moment in the zone that the person chose; the tooltip names the zone. */
export function Time({ at }: { at: string }) {
  const { zone } = usePreferences();
  return (
    <time dateTime={at} title={fullTimeText(at, zone)}>
      {timeText(at, zone)}
    </time>
  );
}
