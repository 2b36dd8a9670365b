import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the last known definition of each tool of an MCP server, and the hash of the accepted definition. */
export class ToolPins1763500000000 implements MigrationInterface {
  name = 'ToolPins1763500000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE tool_pin (
        server        text NOT NULL,
        tool          text NOT NULL,
        hash          text NOT NULL,
        definition    jsonb NOT NULL,
        accepted_hash text,
        accepted_by   text,
        accepted_at   timestamptz,
        first_seen_at timestamptz NOT NULL DEFAULT now(),
        changed_at    timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT tool_pin_pkey PRIMARY KEY (server, tool)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE tool_pin');
  }
}
