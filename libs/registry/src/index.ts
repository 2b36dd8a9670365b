export { Database } from './db/database.js';
export { joinSchemas, migrationOptions, type DatabaseOptions, type Schema } from './db/database.options.js';
export { DatabaseBusyError, DatabaseUnavailableError, sqlState } from './db/database.errors.js';
export { DatabaseRefusedError, migrate } from './db/migrator.js';
export { waitForPostgres } from './db/reachability.js';
export { EmbeddedPostgres } from './db/embedded/embedded-postgres.js';
export { DataFolder, DataFolderError } from './db/embedded/data-folder.js';
export { RegistryError, type RegistryErrorCode } from './errors.js';
