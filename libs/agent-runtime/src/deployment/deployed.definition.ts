import type { DefinitionContent, DefinitionSource } from '../definitions/definition.js';

/** The sources that are read at the start of the application. */
export type DeploymentSource = Exclude<DefinitionSource, 'rest'>;

/** A definition in code. Fields without a default are required. */
export type CodeDefinition = Pick<DefinitionContent, 'description'> &
  Partial<DefinitionContent> & {
    readonly name: string;
    /** `default` if absent. */
    readonly namespace?: string;
  };

/** A valid definition of this deployment, or of an import. */
export interface DeployedDefinition {
  readonly namespace: string;
  readonly name: string;
  readonly source: DefinitionSource;
  readonly content: DefinitionContent;
  readonly hash: string;
}

/** A registered definition without its content. */
export interface RegisteredDefinition {
  readonly namespace: string;
  readonly name: string;
  readonly revision: number;
  readonly hash: string;
  readonly source: DefinitionSource;
  readonly capabilities: readonly string[] | null;
}
