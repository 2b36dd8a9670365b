import type { CallToolResult } from '@modelcontextprotocol/client';

/** The result of a tool of an MCP server, as text for a model. */
export interface McpResult {
  readonly text: string;
  /** Whether the tool reports that it failed. The text contains the reason. */
  readonly isError: boolean;
}

export function toMcpResult({ content, structuredContent, isError }: CallToolResult): McpResult {
  const texts = content.map(toText).filter((text) => text !== '');
  const text =
    texts.length === 0 && structuredContent !== undefined ? JSON.stringify(structuredContent) : texts.join('\n');
  return { text, isError: isError === true };
}

function toText(part: CallToolResult['content'][number]): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'image':
    case 'audio':
      return `[${part.mimeType}: not shown]`;
    case 'resource_link':
      return `[link to ${part.name}: ${part.uri}]`;
    case 'resource':
      return 'text' in part.resource ? part.resource.text : `[${part.resource.uri}: not shown]`;
    default:
      return '[content of an unknown type: not shown]';
  }
}
