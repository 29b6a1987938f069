import { useState } from 'react';
import { countText } from '../parts/format.ts';
import { KindMark } from '../parts/KindMark.tsx';
import { ContentPartView } from './ContentPartView.tsx';
import type { Message } from './messages.ts';
import styles from './Payload.module.css';
import { TextOrJson } from './TextOrJson.tsx';
import { useSteps } from './useSteps.tsx';

/** Messages on the page at first, and more with each step. */
const PIECE = 50;

/** A conversation in order, with the tools that were called and their answers. A long one shows its last messages first. */
export function Conversation({ messages }: { messages: readonly Message[] }) {
  const [shown, setShown] = useState(PIECE);
  const first = Math.max(0, messages.length - shown);
  return (
    <ol className={styles.conversation}>
      {first > 0 && (
        <li>
          <button type="button" onClick={() => setShown(shown + 4 * PIECE)}>
            Show earlier ones ({countText(first)})
          </button>
        </li>
      )}
      {messages.slice(first).map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages have no ids, and their order is theirs
        <MessageItem key={first + index} message={message} />
      ))}
    </ol>
  );
}

function MessageItem({ message: { role, parts, toolCalls, answerOf } }: { message: Message }) {
  const [shownParts, moreParts] = useSteps(parts.length, { first: PIECE, more: 4 * PIECE });
  const [shownCalls, moreCalls] = useSteps(toolCalls.length, { first: PIECE, more: 4 * PIECE });
  return (
    <li data-role={role}>
      {role !== '' && (
        <span className={styles.role}>
          {role.slice(0, 200)}
          {answerOf !== undefined && (
            <>
              {' '}
              · <code>{answerOf.slice(0, 200)}</code>
            </>
          )}
        </span>
      )}
      {parts.slice(0, shownParts).map((part, place) =>
        part.kind === 'text' && role === 'tool' ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts have no ids, and their order is theirs
          <TextOrJson key={place} text={part.text} />
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: as above
          <ContentPartView key={place} part={part} />
        ),
      )}
      {moreParts}
      {toolCalls.slice(0, shownCalls).map((call, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: as above
        <div key={place} className={styles.call}>
          <KindMark kind="tool" /> <code>{call.name.slice(0, 200)}</code>
          <TextOrJson text={call.arguments} />
        </div>
      ))}
      {moreCalls}
      {parts.length === 0 && toolCalls.length === 0 && <p className="quiet">an empty text</p>}
    </li>
  );
}
