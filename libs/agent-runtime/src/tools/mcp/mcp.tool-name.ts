import { createHash } from 'node:crypto';

const MAX_NAME = 64;
const HASH_CHARS = 8;

/** `mcp__server__tool`, with only the characters and the length that all model vendors accept. */
export function mcpToolName(server: string, tool: string): string {
  const name = `mcp__${server}__${tool.replaceAll(/[^a-zA-Z0-9_-]/g, '_')}`;
  if (name.length <= MAX_NAME) return name;
  const hash = createHash('sha256').update(tool).digest('hex').slice(0, HASH_CHARS);
  return `${name.slice(0, MAX_NAME - HASH_CHARS - 1)}_${hash}`;
}
