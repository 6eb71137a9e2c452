/** The PostgreSQL schema that holds the tables. */
export const SINK_SCHEMA = 'obverse';
