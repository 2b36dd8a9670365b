import type { DefinitionContent } from '../definitions/definition.js';
import type { SpecProblem } from './spec.problems.js';

/** How spec files are read. */
export interface SpecOptions {
  /** Makes every warning an error. */
  readonly strict?: boolean;
  /** The tools that exist. Absent: tools are not checked. */
  readonly knownTools?: readonly string[];
  /** The presets, and the aliases that the operator has defined. Absent: models are not checked. */
  readonly knownModels?: readonly string[];
  /** The skills that exist. Absent: skills are not checked. */
  readonly knownSkills?: readonly string[];
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

/** The result of one file. A Markdown file without front matter contains no spec and has no errors. */
export interface ParsedFile {
  readonly specs: readonly ParsedSpec[];
  readonly errors: readonly SpecProblem[];
}
