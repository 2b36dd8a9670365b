import type { DefinitionContent } from '../definition.js';

/** How spec files are read. */
export interface SpecOptions {
  /** Makes every warning an error. */
  readonly strict?: boolean;
  /** The tools that exist. Absent: tools are not checked. */
  readonly knownTools?: readonly string[];
  /** The tools that the operator has turned off, each with what turns it on. */
  readonly offTools?: ReadonlyMap<string, string>;
  /** The presets, and the aliases that the operator has defined. Absent: models are not checked. */
  readonly knownModels?: readonly string[];
  /** The skills that exist. Absent: skills are not checked. */
  readonly knownSkills?: readonly string[];
}

/** A problem of a file, for its author: an error, or a warning if the file is loaded nevertheless. */
export interface SpecProblem {
  readonly line: number;
  readonly message: string;
}

export interface ParsedSpec {
  readonly name: string;
  /** The line of the name. */
  readonly line: number;
  /** The lines of the keys. */
  readonly lines: ReadonlyMap<string, number>;
  readonly content: DefinitionContent;
  readonly warnings: readonly SpecProblem[];
}

/** The result of one file. */
export interface ParsedFile {
  /** Why the file contains no spec although it has no errors. */
  readonly skipped?: string;
  readonly specs: readonly ParsedSpec[];
  readonly errors: readonly SpecProblem[];
}

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

const MAX_SHOWN = 60;

/** Collects all problems of one spec, each with the line of the key that it is about. With `strict`, warnings are errors. */
export class SpecProblems {
  readonly warnings: SpecProblem[] = [];
  readonly errors: SpecProblem[] = [];

  constructor(
    /** Returns the line of a key. */
    readonly lineOf: (key: string) => number,
    private readonly strict: boolean,
    /** The name of the spec, if its file contains several. */
    private readonly name?: string,
  ) {}

  warn(key: string, message: string): void {
    this.add(this.strict, this.lineOf(key), message);
  }

  /** A warning whose line is already known. */
  warnAt({ line, message }: SpecProblem): void {
    this.add(this.strict, line, message);
  }

  error(key: string, message: string): void {
    this.add(true, this.lineOf(key), message);
  }

  private add(isError: boolean, line: number, text: string): void {
    const message = this.name === undefined ? text : `${shown(this.name)}: ${text}`;
    (isError ? this.errors : this.warnings).push({ line, message });
  }
}

/** A text of a file in a message: short, and in quotes if it could be misread. */
export function shown(text: string): string {
  const short = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return /^[\w.:@/-]+…?$/.test(short) ? short : JSON.stringify(short);
}
