import { ToolInvalidError } from './tool.errors.js';

/** The names that all model vendors accept. */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

export function checkToolName(name: string): void {
  if (TOOL_NAME.test(name)) return;
  throw new ToolInvalidError(
    `A tool cannot be named ${JSON.stringify(name.slice(0, 100))}. Use 1 to 64 letters, digits, underscores and hyphens.`,
  );
}
