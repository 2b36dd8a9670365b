import type { Schema } from '#rollcall/platform';
import { DefinitionRevisionEntity } from './definitions/definition-revision.entity.js';
import { DefinitionEntity } from './definitions/definition.entity.js';
import { Definitions1763600000000 } from './migrations/1763600000000-definitions.js';

/** The tables and migrations of the runtime. */
export const RUNTIME_SCHEMA: Schema = {
  entities: [DefinitionEntity, DefinitionRevisionEntity],
  migrations: [Definitions1763600000000],
};
