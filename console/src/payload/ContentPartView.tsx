import { bytesText } from '../parts/format.ts';
import type { ContentPart } from './contentParts.ts';
import { JsonTree } from './JsonTree.tsx';
import { LongText } from './LongText.tsx';
import styles from './Payload.module.css';

/** A piece of a message. Pictures and files come out of the record itself; what is at another site is named and not asked for. */
export function ContentPartView({ part }: { part: ContentPart }) {
  if (part.kind === 'text') return <LongText text={part.text} />;
  if (part.kind === 'json') return <JsonTree value={part.value} />;
  if (part.kind === 'image')
    return (
      <a href={part.url} download="image" title="Save the image">
        <img src={part.url} alt="Logged with this message" className={styles.image} loading="lazy" decoding="async" />
      </a>
    );
  if (part.kind === 'file')
    return (
      <a href={part.url} download={part.name}>
        Save {part.name} ({bytesText(part.bytes)})
      </a>
    );
  return (
    <p className={styles.elsewhere}>
      <span className="quiet">{part.what} at another site, not fetched: </span>
      <code>{part.address.slice(0, 2_000)}</code>
    </p>
  );
}
