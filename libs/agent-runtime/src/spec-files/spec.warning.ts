/** A warning for the author of a file. The file is loaded nevertheless. */
export interface SpecWarning {
  readonly line: number;
  readonly message: string;
}
