import { parseWithBigInts } from '../../../shared/wire/longNumbers.ts';
import { KindMark } from '../parts/KindMark.tsx';
import { JsonTree } from './JsonTree.tsx';
import { LongText } from './LongText.tsx';
import { documentsOf, jsonIn, type Message, messagesOf } from './messages.ts';
import styles from './Payload.module.css';

/** An input or output as what it is: a conversation, documents, JSON, or a text. */
export function Payload({ value }: { value: unknown }) {
  if (value === null || value === undefined) return <p className="quiet">nothing</p>;
  const messages = messagesOf(value);
  if (messages) return <Conversation messages={messages} />;
  const documents = documentsOf(value);
  if (documents)
    return (
      <ol className={styles.documents}>
        {documents.map(({ content, metadata }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: documents have no ids, and their order is theirs
          <li key={index}>
            <LongText text={content} />
            {metadata !== undefined && metadata !== null && <JsonTree value={metadata} />}
          </li>
        ))}
      </ol>
    );
  if (typeof value !== 'string') return <JsonTree value={value} />;
  if (value === '') return <p className="quiet">an empty text</p>;
  const read = jsonIn(value, parseWithBigInts);
  return read === undefined ? <LongText text={value} /> : <JsonTree value={read} />;
}

function Conversation({ messages }: { messages: readonly Message[] }) {
  return (
    <ol className={styles.conversation}>
      {messages.map(({ role, text, others, toolCalls }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages have no ids, and their order is theirs
        <li key={index} data-role={role}>
          <span className={styles.role}>{role}</span>
          {text !== '' && <LongText text={text} />}
          {others.map((part, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: as above
            <JsonTree key={place} value={part} />
          ))}
          {toolCalls.map((call, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: as above
            <div key={place} className={styles.call}>
              <KindMark kind="tool" /> <code>{call.name}</code>
              <Payload value={call.arguments} />
            </div>
          ))}
          {text === '' && others.length === 0 && toolCalls.length === 0 && <p className="quiet">an empty text</p>}
        </li>
      ))}
    </ol>
  );
}
