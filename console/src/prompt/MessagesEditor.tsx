import { messagesOf } from '../payload/messages.ts';
import styles from './Prompt.module.css';
import type { WrittenMessage } from './promptText.ts';

const roles = ['system', 'user', 'assistant', 'developer', 'tool'];

interface Props {
  messages: readonly WrittenMessage[];
  onChange(messages: WrittenMessage[]): void;
}

/** The messages of a prompt with their roles, to be changed, added and removed. One stays at least. */
export function MessagesEditor({ messages, onChange }: Props) {
  const setMessage = (at: number, changed: Partial<WrittenMessage>) =>
    onChange(messages.map((one, index) => (index === at ? { ...one, ...changed } : one)));
  return (
    <>
      <ol className={styles.messages}>
        {messages.map((one, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: messages have no ids, and their order is theirs
          <li key={index}>
            <div className={styles.bar}>
              <select
                aria-label={`Role of message ${index + 1}`}
                value={one.role}
                onChange={(event) => setMessage(index, { role: event.target.value })}
              >
                {[...new Set([...roles, one.role])].map((role) => (
                  <option key={role}>{role}</option>
                ))}
              </select>
              <span className={styles.space} />
              {messages.length > 1 && (
                <button
                  type="button"
                  className="plain"
                  aria-label={`Remove message ${index + 1}`}
                  onClick={() => onChange(messages.filter((_, at) => at !== index))}
                >
                  Remove
                </button>
              )}
            </div>
            <textarea
              aria-label={`Message ${index + 1}${one.isJson ? ', as JSON' : ''}`}
              value={one.text}
              required={toolCallsOf(one).length === 0}
              rows={Math.min(20, Math.max(4, one.text.slice(0, 10_000).split('\n').length + 1))}
              onChange={(event) => setMessage(index, { text: event.target.value })}
            />
            {toolCallsOf(one).map((call, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: calls stay as they are
              <pre key={at}>
                calls {call.name}({call.arguments})
              </pre>
            ))}
          </li>
        ))}
      </ol>
      <button
        type="button"
        className={styles.start}
        onClick={() => onChange([...messages, { role: 'user', text: '', isJson: false, others: {} }])}
      >
        Add a message
      </button>
    </>
  );
}

/** A message that calls tools may have no text. */
const toolCallsOf = ({ role, others }: WrittenMessage) => messagesOf({ ...others, role })?.[0]?.toolCalls ?? [];
