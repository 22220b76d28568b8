//! The programs a job can name, as data: parameters, command lines, KPIs.
