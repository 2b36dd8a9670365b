/** A file that cannot be loaded. The loader adds the name of the file, and continues with the other files. */
export class SpecFileError extends Error {
  override readonly name = 'SpecFileError';

  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message);
  }
}
