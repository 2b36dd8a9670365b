import { RuntimeError } from '../errors.js';

export class ImportTooLargeError extends RuntimeError {
  readonly code = 'DEFINITION_IMPORT_TOO_LARGE';

  constructor(limit: number) {
    super(`The files contain more than ${limit} definitions. Send several imports.`);
  }
}
