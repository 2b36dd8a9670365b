import { RuntimeError } from '../errors.js';
import { suggestion } from './closest.name.js';

/** A tool whose definition cannot be used. */
export class ToolInvalidError extends RuntimeError {
  readonly code = 'TOOL_INVALID';
}

/** Two tools of one toolbox have the same name. */
export class ToolNameTakenError extends RuntimeError {
  readonly code = 'TOOL_NAME_TAKEN';

  constructor(toolbox: string, tool: string) {
    super(`The toolbox ${toolbox} has two tools named ${tool}. Rename one of them.`);
  }
}

export class ToolBoxNameTakenError extends RuntimeError {
  readonly code = 'TOOLBOX_NAME_TAKEN';

  constructor(toolbox: string) {
    super(`There are two toolboxes named ${toolbox}. Rename one of them.`);
  }
}

export class UnknownToolBoxError extends RuntimeError {
  readonly code = 'TOOLBOX_UNKNOWN';

  constructor(toolbox: string, known: readonly string[]) {
    super(`There is no toolbox named ${toolbox}${suggestion(toolbox, known)}. Known: ${known.toSorted().join(', ')}.`);
  }
}

/** A filter names tools that do not exist. `details.unknown` lists them. */
export class UnknownToolError extends RuntimeError {
  readonly code = 'TOOL_UNKNOWN';
  override readonly details: { unknown: readonly string[] };

  constructor(unknown: readonly string[], known: readonly string[]) {
    const named = unknown.map((name) => `${name}${suggestion(name, known)}`).join('; ');
    super(`There are no tools with these names: ${named}. GET /v1/tools lists all tools.`);
    this.details = { unknown };
  }
}
