import type { Tool, ToolBox } from './tool.js';
import { ToolNameTakenError } from './tool.errors.js';
import { checkToolName } from './tool.name.js';

/** A toolbox with the same tools in every context. */
export function toolBox(name: string, tools: readonly Tool[]): ToolBox {
  checkToolName(name);
  const names = new Set<string>();
  for (const tool of tools) {
    checkToolName(tool.name);
    if (names.has(tool.name)) throw new ToolNameTakenError(name, tool.name);
    names.add(tool.name);
  }
  const all = Object.freeze([...tools]);
  return { name, tools: () => all };
}
