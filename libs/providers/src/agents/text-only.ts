import { ProviderError } from '../errors.js';
import type { AgentMessage } from './agent.js';

/** Returns the message as one text, with data as JSON. Throws for a file, so that an agent never misses a part silently. */
export function textOnly({ parts }: AgentMessage, label: string): string {
  let text = '';
  for (const part of parts) {
    if (part.type === 'file') throw noFiles(label);
    text += part.type === 'text' ? part.text : `\n\n${JSON.stringify(part.data)}`;
  }
  return text;
}

function noFiles(label: string): ProviderError {
  const message = `${label} accepts only text and JSON data. Send the content of the file as text.`;
  return new ProviderError('AGENT_REQUEST_REFUSED', message);
}
