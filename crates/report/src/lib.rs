//! How is it told: tables, summaries, JSON.
