import { RuntimeError } from '../errors.js';
import { suggestion } from '../tools/closest.name.js';
import { proposedName, quoted } from './definition.js';

/** One problem of a definition. */
export interface DefinitionFault {
  /** The path of the field, such as `skills.0.name`. */
  field: string;
  message: string;
}

const MAX_MESSAGE_CHARS = 500;
const MAX_REPORTED = 20;

/** `details.errors` contains the first problems, and `details.moreErrors` is the number of the others. */
export class DefinitionInvalidError extends RuntimeError {
  readonly code = 'DEFINITION_INVALID';
  override readonly details: { errors: DefinitionFault[]; moreErrors?: number };

  constructor(faults: readonly DefinitionFault[]) {
    const errors = faults.slice(0, MAX_REPORTED).map(shortened);
    const moreErrors = faults.length - errors.length;
    super(`The definition is invalid: ${errors.map(({ message }) => message).join('; ')}.`);
    this.details = { errors, ...(moreErrors > 0 && { moreErrors }) };
  }

  /** The first problems. If there are others, the last entry contains their number. */
  get problems(): readonly DefinitionFault[] {
    const { errors, moreErrors } = this.details;
    if (moreErrors === undefined) return errors;
    return [...errors, { field: '', message: `problems that are not listed: ${moreErrors}` }];
  }
}

/** A problem may quote a text of the definition, which can be long. */
function shortened({ field, message }: DefinitionFault): DefinitionFault {
  const isLong = message.length > MAX_MESSAGE_CHARS;
  return { field, message: isLong ? `${message.slice(0, MAX_MESSAGE_CHARS).toWellFormed()} …` : message };
}

/** `details.proposed` is a similar valid name, if there is one. */
export class DefinitionNameInvalidError extends RuntimeError {
  readonly code = 'DEFINITION_NAME_INVALID';
  override readonly details?: { proposed: string };

  constructor(name: string, owner: 'a definition' | 'an agent' = 'a definition') {
    const proposed = proposedName(name);
    const remedy = proposed === undefined ? 'Choose another name.' : `Use ${proposed}, for example.`;
    super(
      `The name of ${owner} has 1 to 128 letters, digits and the characters _ . : - and begins with a letter or digit. ${remedy}`,
    );
    if (proposed !== undefined) this.details = { proposed };
  }
}

export class DefinitionExistsError extends RuntimeError {
  readonly code = 'DEFINITION_EXISTS';

  constructor(name: string) {
    super(
      `The definition ${quoted(name)} already exists. Replace it with PUT /v1/definitions/{name}, or choose another name.`,
    );
  }
}

export class DefinitionNotFoundError extends RuntimeError {
  readonly code = 'DEFINITION_NOT_FOUND';

  constructor(name: string, known: readonly string[] = []) {
    super(
      `There is no definition ${quoted(name)}${suggestion(name, known)}. GET /v1/definitions lists all definitions.`,
    );
  }
}

export class DefinitionRevisionNotFoundError extends RuntimeError {
  readonly code = 'DEFINITION_REVISION_NOT_FOUND';

  constructor(name: string, revision: number) {
    const list = 'GET /v1/definitions/{name}/revisions lists its revisions';
    super(`The definition ${quoted(name)} has no revision ${revision}. ${list}.`);
  }
}

export class DefinitionChangedError extends RuntimeError {
  readonly code = 'DEFINITION_CHANGED';
  override readonly details: { revision: number };

  constructor(name: string, expected: number, revision: number) {
    super(
      `The definition ${quoted(name)} has revision ${revision}, not ${expected}. Read it again, then repeat the change.`,
    );
    this.details = { revision };
  }
}

export class DefinitionConfiguredError extends RuntimeError {
  readonly code = 'DEFINITION_CONFIGURED';

  constructor(name: string, source: string) {
    super(
      `The definition ${quoted(name)} comes from the deployment (source ${source}). Change it there, or choose another name.`,
    );
  }
}
