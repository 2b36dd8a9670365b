/** A statement that a client sent, and how the server ended it. */
export interface SentStatement {
  /** The name of a prepared statement, or an empty text. */
  name: string;
  text: string;
  /** The tag of the server, such as `UPDATE 1`. Absent: there is no response yet. */
  tag?: string;
  isFailed?: boolean;
}

/** What a connection sent before it received a response. The times are those of `performance.now()`. */
export interface RoundTrip {
  connection: number;
  startedAt: number;
  /** Absent: there is no response yet. */
  endedAt?: number;
  statements: SentStatement[];
}

/** A transaction, or a statement outside a transaction. */
interface Unit {
  roundTrips: RoundTrip[];
  statements: SentStatement[];
  isOpen: boolean;
}

const BEGIN = /^\s*(BEGIN|START TRANSACTION)\b/i;
const END = /^\s*(COMMIT|ROLLBACK|END|ABORT)\b(?!\s+TO\b)/i;
/** A row lock counts as a write: Postgres writes it to its log, and flushes the log at the commit. */
const WRITE =
  /\b(INSERT\s+INTO|UPDATE|DELETE\s+FROM|MERGE\s+INTO|TRUNCATE|FOR\s+(NO\s+KEY\s+)?UPDATE|FOR\s+(KEY\s+)?SHARE)\b|\bpg_notify\s*\(|^\s*NOTIFY\b/i;
/** For example an UPDATE whose condition matched no row. The tag of a `WITH` statement does not tell what it wrote. */
const WROTE_NOTHING = /^(INSERT 0|UPDATE|DELETE|MERGE) 0$/;
const SHOWN_CHARACTERS = 110;

/** The round trips of all connections during some work, in the order in which they started. */
export class DatabaseTraffic {
  private constructor(
    private readonly trips: readonly RoundTrip[],
    private readonly units: readonly Unit[],
  ) {}

  /**
   * The traffic after the first `before` round trips. It leaves out the transactions that were open then, and the start of
   * connections, which are reused.
   */
  static after(before: number, all: readonly RoundTrip[]): DatabaseTraffic {
    const earlier = new Set(all.slice(0, before));
    const isEarlier = ({ roundTrips }: Unit): boolean => roundTrips.some((trip) => earlier.has(trip));
    const units = unitsOf(all);
    const trips = all.slice(before).filter(({ statements }) => statements.length > 0);
    return new DatabaseTraffic(trips, units).leftOut(units.filter(isEarlier));
  }

  /** The round trips of all connections. Statements that were sent without waiting for a response share one. */
  get roundTrips(): number {
    return this.trips.length;
  }

  /**
   * The largest number of round trips of which each one started after the end of the one before. Round trips that different
   * connections make at the same time count once.
   */
  get roundTripsInSequence(): number {
    return this.sequence().size;
  }

  /** The committed transactions with a write, and the writing statements outside a transaction. */
  get commits(): number {
    return this.units.filter(isCommit).length;
  }

  /**
   * Leaves out the transactions, and the statements outside a transaction, that contain such a statement. If they contain a
   * write that no pattern names, they count: background work that a transaction of a run does with its own writes is not free.
   */
  without(patterns: readonly RegExp[]): DatabaseTraffic {
    const isNamed = ({ text }: SentStatement): boolean => patterns.some((pattern) => pattern.test(text));
    const isOwnWrite = (statement: SentStatement): boolean => WRITE.test(statement.text) && !isNamed(statement);
    const isNamedOnly = ({ statements }: Unit): boolean => statements.some(isNamed) && !statements.some(isOwnWrite);
    return this.leftOut(this.units.filter(isNamedOnly));
  }

  /** One line for each statement. `+` marks a round trip that another connection made beside the sequence. */
  toString(): string {
    const sequence = this.sequence();
    const commits = new Set(this.units.filter(isCommit).map(({ statements }) => statements.at(-1)));
    let number = 0;
    return this.trips
      .flatMap((trip) => {
        const label = sequence.has(trip) ? String((number += 1)) : '+';
        const { connection, statements, startedAt } = trip;
        const at = (startedAt - (this.trips[0]?.startedAt ?? 0)).toFixed(0);
        return statements.map((statement, index) => {
          const head = `${(index === 0 ? label : '').padStart(3)}  ${at.padStart(5)} ms  connection ${connection}`;
          return `${head}  ${shown(statement)}${commits.has(statement) ? '  [commit]' : ''}`;
        });
      })
      .join('\n');
  }

  private leftOut(units: readonly Unit[]): DatabaseTraffic {
    const statements = new Set(units.flatMap((unit) => unit.statements));
    const isLeftOut = (trip: RoundTrip): boolean => trip.statements.every((statement) => statements.has(statement));
    return new DatabaseTraffic(
      this.trips.filter((trip) => !isLeftOut(trip)),
      this.units.filter((unit) => !units.includes(unit)),
    );
  }

  /** Repeatedly takes the round trip that ends first, and skips those that overlap with it. */
  private sequence(): Set<RoundTrip> {
    const found = new Set<RoundTrip>();
    let lastEnd = -Infinity;
    for (const trip of this.trips.toSorted((one, other) => endOf(one) - endOf(other))) {
      if (trip.startedAt < lastEnd) continue;
      found.add(trip);
      lastEnd = endOf(trip);
    }
    return found;
  }
}

function endOf({ endedAt = Infinity }: RoundTrip): number {
  return endedAt;
}

function unitsOf(trips: readonly RoundTrip[]): Unit[] {
  const units: Unit[] = [];
  const open = new Map<number, Unit>();
  for (const trip of trips)
    for (const statement of trip.statements) {
      const unit = open.get(trip.connection) ?? { roundTrips: [], statements: [], isOpen: false };
      if (unit.statements.length === 0) units.push(unit);
      unit.statements.push(statement);
      unit.roundTrips.push(trip);
      if (BEGIN.test(statement.text)) {
        unit.isOpen = true;
        open.set(trip.connection, unit);
      } else if (END.test(statement.text)) {
        unit.isOpen = false;
        open.delete(trip.connection);
      }
    }
  return units;
}

function isCommit({ statements, isOpen }: Unit): boolean {
  const last = statements.at(-1);
  const isCommitted = !isOpen && last?.isFailed !== true && last?.tag !== 'ROLLBACK';
  return isCommitted && statements.some(isWrite);
}

function isWrite({ text, tag = '' }: SentStatement): boolean {
  return WRITE.test(text) && !WROTE_NOTHING.test(tag);
}

function shown({ name, text, isFailed }: SentStatement): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const short = line.length > SHOWN_CHARACTERS ? `${line.slice(0, SHOWN_CHARACTERS)}…` : line;
  return `${name === '' ? '' : `${name}: `}${short}${isFailed === true ? '  [failed]' : ''}`;
}
